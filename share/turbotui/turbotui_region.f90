! Marks of a program's own regions for `turbotui roofline -- COMMAND` (tasks, topdown), by turbotui_region.c:
!
!     use turbotui_region
!     call region_begin("solve")
!     ...
!     call region_end("solve")
module turbotui_region
  use, intrinsic :: iso_c_binding, only: c_char, c_null_char
  implicit none
  private
  public :: region_begin, region_end

  interface
    subroutine begin_c(name) bind(c, name="turbotui_region_begin_c")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine end_c(name) bind(c, name="turbotui_region_end_c")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
  end interface

contains

  subroutine region_begin(name)
    character(len=*), intent(in) :: name
    call begin_c(trim(name) // c_null_char)
  end subroutine

  subroutine region_end(name)
    character(len=*), intent(in) :: name
    call end_c(trim(name) // c_null_char)
  end subroutine
end module
